"""Is a message genuine, and what does the application say of it?"""
