/** Lists the completion scripts of the shells. */
import zsh from "../../../completions/_rollcall?raw";
import bash from "../../../completions/rollcall.bash?raw";
import fish from "../../../completions/rollcall.fish?raw";
import powershell from "../../../completions/rollcall.ps1?raw";

export const scripts = { bash, zsh, fish, powershell };
