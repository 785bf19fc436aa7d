import { Component, type ComponentChildren } from "preact";

interface GuardProps {
  /** What fails if this fails: a panel within a page, or the page. */
  level: "panel" | "page";
  /** The panel's name, as its heading has it. */
  name?: string;
  children: ComponentChildren;
}

/** A mistake in one part of the page leaves the others alone: the part says what happened in its place. */
export class Guard extends Component<GuardProps, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static override getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    const { error } = this.state;
    const { level, name, children } = this.props;
    if (!error) return children;
    const title = `This ${level} failed to render${name ? `: ${name}` : ""}`;
    return (
      <section class={level === "panel" ? "panel failed" : "notice"} role="alert">
        {level === "panel" ? <h2>{title}</h2> : <h1>{title}</h1>}
        <p>{error.message}</p>
        <p>Everything else on this site still works.</p>
        <button type="button" onClick={() => this.setState({ error: null })}>Try again</button>
      </section>
    );
  }
}
