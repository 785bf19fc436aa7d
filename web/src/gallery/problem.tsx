import { ServerError } from "../api/client";

/** What went wrong, and what to do about it. */
export function Problem(props: { error: unknown; retry?: () => void }) {
  const { error, retry } = props;
  const hint = error instanceof ServerError ? error.hint : null;
  return (
    <div class="problem" role="alert">
      <p>
        <b>{error instanceof Error ? error.message : String(error)}</b>
      </p>
      {hint && <p>{hint}</p>}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}
