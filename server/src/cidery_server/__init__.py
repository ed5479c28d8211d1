"""The web app (extra `server`): studies with people, and challenges with hidden references."""
