"""The composer: what a person says beside a prompt, and what that may cost."""
