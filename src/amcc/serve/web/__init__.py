"""The web pages and the API of a live campaign; `app.create_app` makes the application."""
