"""How the site writes dates where Django does it: in the admin."""
