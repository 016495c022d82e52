"""Google's Gemini protocol (`generateContent`)."""
