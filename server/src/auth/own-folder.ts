// Where the server keeps what is its own and no volume's, within its data.

/** No volume can have this name. */
export const OWN_FOLDER = "_server";
