import type { Loaded } from "./load";
import { Player } from "./player";

/** Picture and player only, for a frame in slides or in a course's page. */
export function Embedded({ session, exhibit, problems }: Loaded) {
  const { header } = session.stage.model;
  const whole = () => {
    session.flush();
    const link = new URL(location.href);
    link.searchParams.delete("embed");
    window.open(link, "_blank", "noopener");
  };
  return (
    <>
      {problems.map((problem) => <p key={problem} class="warning">{problem}</p>)}
      <Player
        key={session.shown.value}
        stage={session.stage}
        panels={[]}
        below={
          <p class="hint">
            <b>{exhibit?.title ?? header.title}</b>
            <button type="button" onClick={whole}>Open in the explorer</button>
          </p>
        }
      />
    </>
  );
}

/** The text that puts what a link shows into another page. */
export function frameOf(link: string): string {
  const url = new URL(link);
  url.searchParams.set("embed", "1");
  const address = url.href.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<iframe src="${address}" title="A run in Bellwether" width="1000" height="600" style="border: 0"></iframe>`;
}
