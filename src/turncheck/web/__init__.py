"""The one foundation of HTTP: sessions, deadlines, redirects, proxies, limits."""
