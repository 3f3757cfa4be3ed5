// The folder within the server's data for what is its own and belongs to no volume.

/** No volume can have this name. */
export const OWN_FOLDER = "_server";
/** Data that a folder was parted from, by the time of it [F113]. Nor this one. */
export const SET_ASIDE_FOLDER = "_set-aside";
