package cli

import (
	"github.com/spf13/pflag"

	"githandoff/internal/app/emit"
)

// authorityFlags are the flags that say what the receiver shall be allowed to do.
type authorityFlags emit.Wanted

func (f *authorityFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.OnBehalfOf, "on-behalf-of", "", "let the receiver act for a person, `MAIL`; signed by that person's key")
	flags.StringArrayVar(&f.Scope, "scope", nil, "what the receiver may do, `ACTION[:TARGET]`, such as repo.write:src/auth/*; repeatable")
	flags.StringArrayVar(&f.Audience, "audience", nil, "another repository where the authority holds, `ALIAS`; repeatable")
}
