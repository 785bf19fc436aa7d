/** Whether the page is a frame of slides or of a course's page: `?embed=1` shows picture and player only. */
export const EMBEDDED = typeof location !== "undefined" && new URLSearchParams(location.search).get("embed") === "1";

/** Where the explorer is: on a server at this path, otherwise wherever the files of the site were put. */
export const EXPLORE = __BELLWETHER_SITE__ ? location.pathname : "/explore";
