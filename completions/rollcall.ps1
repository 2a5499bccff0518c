# PowerShell completion for rollcall
#
# Load it with:  rollcall completion powershell | Out-String | Invoke-Expression
# or save it as a file that your $PROFILE loads.

Register-ArgumentCompleter -Native -CommandName rollcall -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @(":$wordToComplete")
  foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
    if ($element.Extent.EndOffset -ge $cursorPosition) { break }
    # The text of a constant, else what was typed: nothing is evaluated.
    if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $words += $element.Value }
    else { $words += $element.Extent.Text }
  }
  $asked = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($words -join [char]0))
  $lines = @(& rollcall __complete powershell $asked 2>$null)
  if ($lines.Count -eq 0 -or $lines[0] -ne 'words') { return }
  foreach ($line in ($lines | Select-Object -Skip 1)) {
    $text, $about = $line.Split([char]9, 2)
    if (-not $about) { $about = $text }
    [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $about)
  }
}
