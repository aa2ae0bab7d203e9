package cli

import "context"

func (a *app) installHooks(ctx context.Context) error { return nil }
