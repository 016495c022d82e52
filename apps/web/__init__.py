"""What all pages share: who is asking, the frame, error pages, words and numbers."""
