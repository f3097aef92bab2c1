"""Names that would run a script, or spoil the layout, in a careless page."""

EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked=1'>\"'&é漢"
EVIL_LAYER = "<img src=x onerror=window.hacked=1>&'\"é"
EVIL_CLASS = '</style><b>wet & "warm"</b>'
