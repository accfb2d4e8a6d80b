package main

import (
	"strings"
	"testing"
	"time"

	"heddle/integration/load"
)

func TestRivalsAreShownSideBySide(t *testing.T) {
	run := func(perSecond float64) load.Result {
		return load.Result{PerSecond: perSecond, BeatsPerSecond: 100, Latency: load.Distribution{P50: time.Millisecond, P99: 20 * time.Millisecond}}
	}
	var b strings.Builder
	if err := printRivals(&b, []rivalry{{"stock", []load.Result{run(100), run(300), run(200)}}, {"heddle", []load.Result{run(2000)}}}, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 200 (100–300) ", "| 1.0 (1.0–1.0) ", "| 2000 ", "| 10.0 "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestRivalsAskForTheSameQueues(t *testing.T) {
	all := rivals("heddle")
	for key, value := range all[0].lab.Site {
		for _, r := range all[1:] {
			if r.lab.Site[key] != value {
				t.Errorf("%s has %s=%q, %s %q", r.name, key, r.lab.Site[key], all[0].name, value)
			}
		}
	}
}
