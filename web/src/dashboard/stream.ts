/** A stream of server-sent events that is open. */
export interface Stream {
  close(): void;
}

/** Who is told what comes, and when nothing more will. */
export interface Listener {
  said(text: string): void;
  broke(): void;
}

/** Opens a stream; tests open their own. */
export type Open = (url: string, listener: Listener) => Stream;

/**
 * Opens a stream in the browser. A browser would call the same server again and again; a caller
 * listens here knows others, so the first failure is the end.
 */
export const openStream: Open = (url, listener) => {
  const source = new EventSource(url);
  source.onmessage = (event: MessageEvent<string>) => listener.said(event.data);
  source.onerror = () => {
    source.close();
    listener.broke();
  };
  return source;
};
