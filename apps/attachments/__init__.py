"""Attachments: files and images that come with a prompt, and the text of them."""
