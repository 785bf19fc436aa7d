import { useEffect, useState } from "preact/hooks";
import { ServerError, type Schemas } from "../api/client";
import { Guard } from "../guard";
import { EXPLORE, go, place } from "../place";
import { Actions } from "./actions";
import { Branches, Outcome } from "./branches";
import { deedsFor, deedsForLink, type Deed } from "./deeds";
import { Form } from "./forms";
import { CannotShow, load, type Loaded } from "./load";
import { Menu } from "./menu";
import { Next } from "./next";
import { Player } from "./player";
import { ScenarioText } from "./scenario";
import type { Link } from "./topology/layout";
import { stepAtTime } from "../run/branches";
import { inMs, processName } from "../run/words";
import { EMBEDDED } from "../where";
import { Embedded } from "./embedded";

/** The explorer: the run that the link speaks of. */
export function Explorer() {
  const { params } = place.value;
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let isWanted = true;
    let mine: Loaded | null = null;
    setError(null);
    load(params).then(
      (now) => {
        mine = now;
        if (isWanted) setLoaded(now);
        else now.session.close();
      },
      (failure: unknown) => isWanted && setError(failure),
    );
    return () => {
      isWanted = false;
      mine?.session.close();
      setLoaded(null);
    };
  }, [params, attempt]);
  return (
    <div class="explorer">
      {error !== null ? (
        <Failure error={error} retry={() => setAttempt(attempt + 1)} />
      ) : loaded === null ? (
        <p role="status">Loading the run…</p>
      ) : (
        EMBEDDED ? <Embedded {...loaded} /> : <Run key={attempt} {...loaded} />
      )}
    </div>
  );
}

/** Why nothing is shown, and what can be done. */
function Failure({ error, retry }: { error: unknown; retry: () => void }) {
  const why = error instanceof CannotShow ? error : null;
  return (
    <section class="notice" role="alert">
      <h1>This run cannot be shown</h1>
      <p class="why">{error instanceof Error ? error.message : String(error)}</p>
      <p>{why?.hint ?? "Reload the page."}</p>
      {why && why.similar.length > 0 && (
        <ul>
          {why.similar.map(({ id, title }) => (
            <li key={id}><a href={`${EXPLORE}#exhibit=${id}`} onClick={go(`${EXPLORE}#exhibit=${id}`)}>{title}</a></li>
          ))}
        </ul>
      )}
      {why?.scenario != null && <ScenarioText scenario={why.scenario} open />}
      <p class="row">
        {(why === null || why.retry) && <button type="button" class="primary" onClick={retry}>Try again</button>}
        <a href={EXPLORE} onClick={go(EXPLORE)}>To the gallery</a>
      </p>
    </section>
  );
}

/**
 * The views are those of another run now, and what had the focus is gone. The player gets it: what a viewer does after a
 * branch is to watch it. On a process, the arrow keys and Space would choose a process and open its menu.
 */
function focusPlayer() {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(".player .play")?.focus({ preventScroll: true }));
}

/** What a menu is open for. */
type Opened = { node: number; link: null; at: Element } | { node: number; link: Link; at: Element };

function Run({ session, exhibit, algorithm, problems }: Loaded) {
  const [notices, setNotices] = useState<readonly string[]>(problems);
  const [opened, setOpened] = useState<Opened | null>(null);
  const [asked, setAsked] = useState<{ node: number; ask: string } | null>(null);
  const { stage } = session;
  const { model } = stage;
  const { recording, header } = model;
  useEffect(() => {
    if (exhibit?.stamps === "lamport" || exhibit?.stamps === "vector") stage.stamps.value = exhibit.stamps;
  }, [stage]);
  const runs = session.runs.value;
  const tell = (problem: string) => setNotices((before) => [...before.filter((one) => one !== problem), problem]);
  const branch = (command: string) => {
    session.branch(command).then(focusPlayer, (error: Error) => {
      const hint = error instanceof ServerError ? error.hint : null;
      tell(`The branch cannot be played: ${error.message} ${hint ?? ""}`.trim());
    });
  };
  const act = (deed: Deed, node: number) => () => {
    if ("command" in deed) branch(deed.command);
    else setAsked({ node, ask: deed.ask });
  };
  // A branch begins after all events of a microsecond, so what can be done is what can be done then.
  const branchPoint = () => stepAtTime(model, stage.step.peek().us);
  const choices = (now: Opened) => {
    const step = branchPoint();
    const deeds = now.link ? deedsForLink(step, now.link) : deedsFor(header, step, now.node, algorithm?.verbs ?? []);
    return deeds.map((deed) => ({ label: deed.label, act: act(deed, now.node) }));
  };
  const nodes = header.nodes.length;
  const standing: Deed[] = [
    ...(nodes > 1 ? [{ label: "Partition…", ask: "partition" }] : []),
    ...(nodes > 0 ? [{ label: "Other command…", ask: "command" }] : []),
  ];
  const canBranch = recording.scenario !== null;
  return (
    <>
      <Notices notices={notices} onDismiss={(index) => setNotices(notices.filter((_, at) => at !== index))} />
      <header class="run-head">
        <div>
          <p class="crumbs"><a href={EXPLORE} onClick={go(EXPLORE)}>Gallery</a> / {algorithm?.title ?? header.title}</p>
          <h1>{exhibit?.title ?? `${header.title}, ${header.nodes.length} processes`}</h1>
        </div>
        <Actions session={session} onProblem={tell} />
        {exhibit && <p class="look">{exhibit.look}</p>}
      </header>
      <Guard level="panel" name="Outcome">
        <Remarks remarks={recording.remarks} />
        <Branches session={session} />
      </Guard>
      <Player
        key={session.shown.value}
        stage={stage}
        rules={algorithm?.rules ?? []}
        below={
          <>
            <Guard level="panel" name="Outcome"><Outcome stage={stage} /></Guard>
            <Hint canBranch={canBranch} deeds={standing} act={(deed) => act(deed, stage.node.peek() ?? header.nodes[0]!)()} />
            {recording.scenario !== null && (
              <Guard level="panel" name="Next"><Next stage={stage} scenario={recording.scenario} onBranch={branch} onFound={tell} /></Guard>
            )}
          </>
        }
        onNode={canBranch ? (node, at) => setOpened({ node, link: null, at }) : undefined}
        onLink={canBranch ? (link, at) => setOpened({ node: link[0], link, at }) : undefined}
      />
      <p class="visually-hidden" role="status">{runs.length > 1 ? `Shown: ${runs[session.shown.value]?.label ?? ""}` : ""}</p>
      {session.busy.value && <p class="busy" role="status">Playing the branch…</p>}
      {algorithm && <Guard level="panel" name="About"><About algorithm={algorithm} /></Guard>}
      {recording.scenario !== null && <ScenarioText key={recording.scenario} scenario={recording.scenario} />}
      {opened && (
        <Menu
          title={`${opened.link ? `Link ${opened.link.map(processName).join("–")}` : processName(opened.node)}, after ${inMs(stage.step.peek().us)}`}
          anchor={opened.at}
          choices={choices(opened)}
          onClose={() => setOpened(null)}
        />
      )}
      {asked && (
        <Form {...asked} nodes={header.nodes} onCommand={branch} onClose={() => setAsked(null)} />
      )}
    </>
  );
}

/** What one can do, for those who have not tried. */
function Hint(props: { canBranch: boolean; deeds: readonly Deed[]; act: (deed: Deed) => void }) {
  if (!props.canBranch) {
    return <p class="hint">This is a recorded trace, so you can only watch it. A scenario can be branched.</p>;
  }
  return (
    <p class="hint">
      <span>
        <b>Break it at this moment:</b> click a process or a link. A branch starts here, and the original stays.
      </span>
      {props.deeds.map((deed) => <button key={deed.label} type="button" onClick={() => props.act(deed)}>{deed.label}</button>)}
    </p>
  );
}

function About({ algorithm }: { algorithm: Schemas["Algorithm"] }) {
  return (
    <details class="panel about">
      <summary>About {algorithm.title}</summary>
      <p>{algorithm.about}</p>
      <p>Source: {algorithm.source}. Cost: {algorithm.cost}. Assumes: {algorithm.assumes.join(", ")}.</p>
    </details>
  );
}

function Remarks({ remarks }: { remarks: readonly string[] }) {
  if (remarks.length === 0) return null;
  return (
    <details class="panel remarks">
      <summary>The run differs from what the scenario expects ({remarks.length})</summary>
      <ul>{remarks.map((remark) => <li key={remark}><pre>{remark}</pre></li>)}</ul>
    </details>
  );
}

/** What is wrong, while the rest goes on. */
function Notices({ notices, onDismiss }: { notices: readonly string[]; onDismiss: (index: number) => void }) {
  return (
    <div class="notices" aria-live="polite">
      {notices.map((notice, index) => (
        <p key={notice} class="warning">
          <span>{notice}</span>
          <button type="button" class="quiet" onClick={() => onDismiss(index)} aria-label="Dismiss">×</button>
        </p>
      ))}
    </div>
  );
}
