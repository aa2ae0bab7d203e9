// Package prompt makes the prompt of an agent from a template, from handoffs
// that came before, and from the history of ended ones.
//
// # Templates
//
// A template is one of text/template. Its data are
//
//	.Deps.<name>.Handoff.Version    the number 1
//	                    .Summary    text
//	                    .Detail     text
//	                    .Data.<key> text
//	            .Results.<key>      text
//	            .Outputs            a list of texts
//	            .Name               <name>
//	.History                        text, see [History]; "" where there is none
//	.<variable>                     text
//
// All of it are maps, so that both ways to write a path mean the same:
//
//	{{.Deps.investigate.Handoff.Summary}}
//	{{index .Deps "investigate" "Handoff" "Summary"}}
//
// and the second is the one for names with a dash in them.
//
// # What is not there
//
// A prompt with a hole in it looks like one without. So a missing value can
// be tested ({{if}}, {{with}}, {{range}}) and compared, and where it would be
// printed the template is refused with the place and the expression. There is
// one exception, which somebody asked for: of a dependency that stands for none
// (a nil [Dependency]), and of the handoff of one that left none, everything
// there could be is empty, tests as false and prints as nothing.
//
// # Fences
//
// {{fence .Body}} or {{.Body | fence}} puts a text that somebody else wrote
// between two lines that it cannot contain. It says where the text begins and
// ends; it does not keep a model from reading the text inside.
//
// # History
//
// One block for each ended handoff, the newest first, without blank lines:
//
//	=== Task LIN-423 (Succeeded, 2026-03-18T09:00:00Z) ===
//	issue_created: #743
//	duration: 4m32s
//
// A block has the results that the receipt names, in the order of their keys or
// in the order that was asked for, and ends with the time from claim to receipt.
// A further line of a value is indented by two spaces, so that no value can look
// like a key, or like another block. A result that is called "duration" itself
// gives way to the one of the log.
package prompt
