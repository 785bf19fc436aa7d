import { useMemo } from "preact/hooks";
import type { Schemas } from "../api/client";
import { EXPLORE, go, navigate, place, replace } from "../place";
import { applyFilter, filterLink, grouped, isViolated, readFilter, titleOf, type Filter, type Only } from "./filter";
import { Thumbnail } from "./thumbnail";

interface Props {
  exhibits: Schemas["Exhibit"][];
  catalogue: Schemas["Catalogue"] | null;
}

/** All runs of the gallery, by family. */
export function Exhibits({ exhibits, catalogue }: Props) {
  const filter = readFilter(place.value.params);
  const shown = applyFilter(exhibits, filter, catalogue);
  const groups = grouped(shown, catalogue);
  return (
    <>
      <Filters exhibits={exhibits} catalogue={catalogue} filter={filter} />
      <p class="soft" role="status">
        {shown.length === exhibits.length ? `${shown.length} runs` : `${shown.length} of ${exhibits.length} runs`}
      </p>
      {shown.length === 0 && (
        <p>
          No run matches these filters.{" "}
          <a href={EXPLORE} onClick={go(EXPLORE)}>
            Show all runs
          </a>
        </p>
      )}
      {groups.map((group) => (
        <section key={group.name} aria-labelledby={`family-${group.name}`}>
          <h3 class="family" id={`family-${group.name}`}>
            {group.title}
          </h3>
          {group.about && <p class="soft">{group.about}</p>}
          <ul class="cards">
            {group.exhibits.map((exhibit) => (
              <Card key={exhibit.id} exhibit={exhibit} catalogue={catalogue} />
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

function Filters({ exhibits, catalogue, filter }: Props & { filter: Filter }) {
  const families = useMemo(() => grouped(exhibits, catalogue), [exhibits, catalogue]);
  const algorithms = useMemo(
    () => [
      ...new Set(exhibits.filter((e) => filter.family === null || e.family === filter.family).map((e) => e.algorithm)),
    ],
    [exhibits, filter.family],
  );
  const choose = (change: Partial<Filter>) => {
    const top = window.scrollY;
    navigate(filterLink({ ...filter, ...change }));
    window.scrollTo(0, top); // the list changes under the buttons; the buttons should stay where they are
  };
  // Every letter changes the list, and the back button leads to what was there before the search.
  const find = (words: string) => replace(filterLink({ ...filter, words }));
  return (
    <div class="filters" role="search" aria-label="Runs of the gallery">
      <label class="find">
        Find{" "}
        <input
          type="search"
          value={filter.words}
          placeholder="token lost"
          onInput={(event) => find(event.currentTarget.value)}
        />
      </label>
      <div class="chips">
        <button
          type="button"
          aria-pressed={filter.family === null}
          onClick={() => choose({ family: null, algorithm: null })}
        >
          All
        </button>
        {families.map(({ name, title }) => (
          <button
            key={name}
            type="button"
            aria-pressed={filter.family === name}
            onClick={() => choose({ family: name, algorithm: null })}
          >
            {title}
          </button>
        ))}
      </div>
      <label>
        Algorithm{" "}
        <select
          value={filter.algorithm ?? ""}
          onChange={(event) => choose({ algorithm: event.currentTarget.value || null })}
        >
          <option value="">any</option>
          {algorithms.map((name) => (
            <option key={name} value={name}>
              {titleOf(name, catalogue)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Show{" "}
        <select value={filter.only ?? ""} onChange={(event) => choose({ only: (event.currentTarget.value || null) as Only | null })}>
          <option value="">all runs</option>
          <option value="violations">runs that end in a violation</option>
          <option value="counterexamples">counterexamples that the checker found</option>
        </select>
      </label>
    </div>
  );
}

function Card({ exhibit, catalogue }: { exhibit: Schemas["Exhibit"]; catalogue: Schemas["Catalogue"] | null }) {
  const link = `${EXPLORE}#exhibit=${encodeURIComponent(exhibit.id)}`;
  return (
    <li class="card">
      <Thumbnail scenario={exhibit.scenario} />
      <p class="overline">
        {titleOf(exhibit.algorithm, catalogue)}
        {exhibit.counterexample ? <span class="tag">Counterexample</span> : isViolated(exhibit) && <span class="tag">Violation</span>}
      </p>
      <h4>
        <a href={link} onClick={go(link)}>
          {exhibit.title}
        </a>
      </h4>
      <p>{exhibit.look}</p>
    </li>
  );
}
