// Package prompt makes the prompt of an agent from a template, from earlier handoffs, and from
// the history of ended ones.
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
// All of it are maps, so both ways to write a path mean the same:
//
//	{{.Deps.investigate.Handoff.Summary}}
//	{{index .Deps "investigate" "Handoff" "Summary"}}
//
// and the second is the one for names with a dash in them.
//
// # Missing values
//
// A prompt with a hole in it looks like one without. So a missing value can be tested ({{if}},
// {{with}}, {{range}}) and compared, and where it would be printed the template is refused
// with the place and the expression. There is one exception, made on request: every value of a
// nil [Dependency], which stands for none, and of the handoff of a dependency that left none,
// is empty, tests as false and prints as nothing.
//
// # Fences
//
// {{fence .Body}} or {{.Body | fence}} puts somebody else's text between two lines it cannot
// contain. It says where the text begins and ends; it does not keep a model from reading the
// text inside.
//
// # History
//
// One block for each ended handoff, the newest first, without blank lines:
//
//	=== Task LIN-423 (Succeeded, 2026-03-18T09:00:00Z) ===
//	issue_created: #743
//	duration: 4m32s
//
// A block has the results named by the receipt, in the order of their keys or in the order
// asked for, and ends with the time from claim to receipt. A further line of a value is
// indented by two spaces, so no value can look like a key, or like another block. A result
// called "duration" itself gives way to the one of the log, and one called "handoff" is shown as
// "result handoff".
package prompt
