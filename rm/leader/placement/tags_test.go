package placement

import (
	"testing"

	"heddle/rm/leader/refusal"
)

// The cases are those of RMAppManager.getUserNameForPlacement: who is on the list, how the tag is written, and what the submitter may do.
func TestApplicationsArePlacedByTheirTags(t *testing.T) {
	mapped := map[string]string{
		"root.queues": "default,hive,ann,Bob,closed", "root.default.capacity": "20", "root.hive.capacity": "20", "root.ann.capacity": "20",
		"root.Bob.capacity": "20", "root.closed.capacity": "20", "queue-mappings": "u:%user:%user", "queue-mappings-override.enable": "true",
	}
	hive := []string{"hive", "oozie"}
	for name, x := range map[string]struct {
		by       Tags
		user     string
		tags     []string
		path     string
		rejected bool
	}{
		"named":                      {Tags{Users: hive}, "hive", []string{"nightly", "userid=ann"}, "root.ann", false},
		"switched off":               {Tags{}, "hive", []string{"userid=ann"}, "root.hive", false},
		"not on the list":            {Tags{Users: []string{"oozie"}}, "hive", []string{"userid=ann"}, "root.hive", false},
		"no tag":                     {Tags{Users: hive}, "hive", []string{"ann"}, "root.hive", false},
		"no name":                    {Tags{Users: hive}, "hive", []string{"userid="}, "root.hive", false},
		"two names in one tag":       {Tags{Users: hive}, "hive", []string{"userid=ann=x"}, "root.hive", false},
		"a wrong tag and a good one": {Tags{Users: hive}, "hive", []string{"userid=", "userid=ann"}, "root.ann", false},
		"in another case":            {Tags{Users: hive}, "hive", []string{"UserId=Ann"}, "root.ann", false},
		"case kept":                  {Tags{Users: hive, KeepCase: true}, "hive", []string{"userid=Bob"}, "root.Bob", false},
		"case kept, and not a tag":   {Tags{Users: hive, KeepCase: true}, "hive", []string{"UserId=Bob"}, "root.hive", false},
		"may not submit there":       {Tags{Users: hive}, "hive", []string{"userid=closed"}, "root.hive", false},
		"without a queue":            {Tags{Users: hive}, "hive", []string{"userid=carol"}, "root.default", false},
	} {
		w := newWorld(t, mapped)
		w.cfg.Tags = x.by
		w.cfg.MaySubmit = func(user, path string) bool { return user == "hive" && path != "root.closed" }
		to, err := w.Place(appID(1), x.user, "query", "default", x.tags)
		path, against := to.Path, to.Against
		if path != x.path || against != "" || refusal.Is(err, refusal.Refused) != x.rejected {
			t.Errorf("%s: %q, %q, %v", name, path, against, err)
		}
	}
	delete(mapped, "root.default.capacity")
	mapped["root.queues"], mapped["root.other.capacity"] = "other,hive,ann,Bob,closed", "20"
	w := newWorld(t, mapped)
	w.cfg.Tags = Tags{Users: hive}
	if to, err := w.Place(appID(1), "hive", "query", "default", []string{"userid=carol"}); !refusal.Is(err, refusal.Refused) {
		t.Errorf("a mapping rejects whom the tag names, and it went to %q: %v", to.Path, err)
	}
}
