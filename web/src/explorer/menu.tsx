import { useEffect, useRef } from "preact/hooks";

/** Something that can be chosen from a menu. */
export interface Choice {
  label: string;
  act: () => void;
}

interface MenuProps {
  title: string;
  /** What the menu belongs to: it stands beside it, and the focus goes back there. */
  anchor: Element;
  choices: readonly Choice[];
  onClose: () => void;
}

/** A menu beside what was clicked, for mouse and keys. */
export function Menu({ title, anchor, choices, onClose }: MenuProps) {
  const box = useRef<HTMLDivElement>(null);
  const close = () => {
    onClose();
    if (anchor instanceof HTMLElement || anchor instanceof SVGElement) anchor.focus();
  };
  useEffect(() => {
    const menu = box.current!;
    const at = anchor.getBoundingClientRect();
    const { width, height } = menu.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left + at.width / 2, innerWidth - width - 8));
    const top = Math.max(8, Math.min(at.top + at.height / 2 + 8, innerHeight - height - 8));
    Object.assign(menu.style, { left: `${left}px`, top: `${top}px` });
    menu.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const outside = (event: PointerEvent) => {
      if (!menu.contains(event.target as Node)) onClose();
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [anchor]);
  const onKeyDown = (event: KeyboardEvent) => {
    const items = [...box.current!.querySelectorAll<HTMLElement>("[role=menuitem]")];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined) items[(to + items.length) % items.length]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" ref={box} role="menu" aria-label={title} onKeyDown={onKeyDown}>
      <p class="title" aria-hidden="true">{title}</p>
      {choices.map(({ label, act }) => (
        <button
          key={label}
          type="button"
          role="menuitem"
          tabIndex={-1}
          onClick={() => {
            close();
            act();
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
