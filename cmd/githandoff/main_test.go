package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStamped(t *testing.T) {
	built := func(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: settings}
	}
	rev := debug.BuildSetting{Key: "vcs.revision", Value: "5856b74d2a060e18b3ffad27a7c46cc2a25b1e10"}
	assert.Equal(t, "dev", stamped(nil))
	assert.Equal(t, "dev", stamped(built("")))
	assert.Equal(t, "v1.2.3", stamped(built("v1.2.3", rev)))
	assert.Equal(t, "5856b74d2a06", stamped(built("(devel)", rev)))
	assert.Equal(t, "5856b74d2a06-dirty", stamped(built("", rev, debug.BuildSetting{Key: "vcs.modified", Value: "true"})))
	version = "v2"
	defer func() { version = "" }()
	assert.Equal(t, "v2", stamped(built("v1.2.3", rev)))
}
