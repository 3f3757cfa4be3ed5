// Style sheets are bundled by the build; a module gets nothing from them.
declare module "*.css";
