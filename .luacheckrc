std = "lua54"
max_line_length = 130
files["spec"] = { std = "lua54+busted" }
exclude_files = { "build" }
files["lua/pmlua/meta"] = { unused = false, unused_args = false } -- declarations without bodies
