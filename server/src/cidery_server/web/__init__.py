"""Accounts, pages, queue and server, which the apps `studies` and `challenges` share.

They are Django apps, named in `settings.APPS_WITH_PAGES`; nothing here imports them.
"""
