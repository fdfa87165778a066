// Tables that are wider than the window scroll in a frame, which the keyboard must be able to reach;
// the frame of a code block's copy button is no landmark.
function improve() {
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  }
  for (const frame of document.querySelectorAll("nav.md-code__nav:not([role])")) frame.setAttribute("role", "none");
}
new MutationObserver(improve).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", improve);
improve();
