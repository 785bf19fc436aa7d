import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";

/** So far outside of what is seen it counts as seen, so that it is there when one scrolls to it. */
const MARGIN = "300px";

/** Tells when an element comes into view and when it leaves it. */
export function useInView(element: RefObject<Element | null>, told: (inView: boolean) => void) {
  useEffect(() => {
    if (!element.current) return;
    const observer = new IntersectionObserver(
      (entries) => told(entries.some(({ isIntersecting }) => isIntersecting)),
      { rootMargin: MARGIN },
    );
    observer.observe(element.current);
    return () => {
      observer.disconnect();
      told(false);
    };
  }, [element, told]);
}

/** Tells how wide an element is, at first and whenever that changes. */
export function useWidth(element: RefObject<Element | null>, told: (width: number) => void) {
  useLayoutEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => entry && told(entry.contentRect.width));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element, told]);
}

/**
 * A list whose rows come and go. If the row that has the focus goes, the list gets the focus, and
 * a user of the keyboard goes on from there instead of from the top of the page.
 */
export function useKeepsFocus<E extends HTMLElement>(): RefObject<E | null> {
  const list = useRef<E>(null);
  const focused = useRef<Element | null>(null);
  useEffect(() => {
    const element = list.current;
    if (!element) return;
    const note = (event: FocusEvent) => (focused.current = event.target as Element);
    // A user who moves the focus is left alone; a row that vanishes does not say where the focus went.
    const forget = (event: FocusEvent) => event.relatedTarget && (focused.current = null);
    element.addEventListener("focusin", note);
    element.addEventListener("focusout", forget);
    return () => {
      element.removeEventListener("focusin", note);
      element.removeEventListener("focusout", forget);
    };
  });
  useLayoutEffect(() => {
    if (!focused.current || focused.current.isConnected) return;
    focused.current = null;
    if (document.activeElement === document.body) list.current?.focus({ preventScroll: true });
  });
  return list;
}
