"""Texts that mean something to GitHub, a shell, a terminal, a parser: in a report they must mean nothing."""

HOSTILE = [
    "::error::x", "@everyone", "@acme/team", "#1", "GH-12", "acme/bots#7", "<img src=x onerror=alert(1)>", "| a | b |",
    "{{ 7*7 }}", "{% raw %}", "a\nb", "# heading", "- item", "1. item", "> quote", "```\nfence\n```", "``a`b``", "`",
    "[x](http://evil.example)", "![x](http://evil.example/x.png)", "<!-- turncheck:report id=x -->", "--> <b>x</b>",
    "https://evil.example/", "www.evil.example", "mail@evil.example",
    "\u202eabc\u202c", "\x1b[31mred\x1b[0m", "\\|", "\\",
    "a\\", "$x^2$", "$$x$$", ":smile:", "~~s~~", "**b**", "_i_", "</details>", "<details open>",
    "&lt;b&gt;", "&#64;everyone",
    "deadbeef0123456", "\x00", "\ud800", "=====", "-----", "***", "+ x", "    code", "\tcode", "[^1]: note", "|---|",
    "\u2028x", "\u200b@everyone", "@\u200beveryone", "!", "[x]: http://evil.example", "<http://evil.example>", "ftp://x.y",
    "xmpp:a@b.c/d", "a  \nb", "Www.Evil.example", "HTTPS://EVIL.EXAMPLE",
]  # fmt: skip
