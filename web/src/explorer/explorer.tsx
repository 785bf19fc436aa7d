import { useEffect, useState } from "preact/hooks";
import { fetchGallery, fetchRun } from "../api/client";
import { place } from "../place";
import { readLink } from "../run/links";
import { modelOf } from "../run/model";
import "./explorer.css";
import { Player } from "./player";
import { Stage } from "./stage";

/** The explorer. */
export function Explorer() {
  const [stage, setStage] = useState<Stage | null>(null);
  const { params } = place.value;
  useEffect(() => {
    void (async () => {
      const { link } = await readLink(params);
      const { exhibits } = await fetchGallery();
      const { source } = link;
      const wanted = source && "exhibit" in source ? source.exhibit : null;
      const scenario =
        source && "scenario" in source ? source.scenario : exhibits.find(({ id }) => id === wanted)?.scenario;
      if (scenario) setStage(new Stage(modelOf(await fetchRun({ scenario })), link.at));
    })();
  }, [params]);
  return stage ? <Player stage={stage} /> : <p>One moment</p>;
}
