"""The lab: experiments on rewards and captioners."""
