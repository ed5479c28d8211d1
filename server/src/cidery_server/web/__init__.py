"""What the apps `studies` and `challenges` share: accounts, pages, the queue, how they are served.

They are Django apps, named in `settings.APPS_WITH_PAGES`; nothing here imports them.
"""
