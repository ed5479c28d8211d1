"""The pages of studies: for judges, for the owner, and downloads."""
