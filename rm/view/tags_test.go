package view

import (
	"slices"
	"testing"

	"heddle/rm/ledger"
	"heddle/yarn/pb"
)

// Tags were made lower case although application-tag-based-placement.force-lowercase was false.
func TestTagsKeepTheirCaseIfThatIsConfigured(t *testing.T) {
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationTags([]string{"Nightly", "userid=Ann"})
	if got := (&Viewer{}).Tags(ctx); !slices.Equal(got, []string{"nightly", "userid=ann"}) {
		t.Errorf("%q", got)
	}
	if got := (&Viewer{KeepTagCase: true}).Tags(ctx); !slices.Equal(got, []string{"Nightly", "userid=Ann"}) {
		t.Errorf("%q", got)
	}
	f := Filter{Tags: []string{"nightly"}}
	if !f.admits(&ledger.Application{Context: ctx}) {
		t.Error("a tag isn't found in another case")
	}
}
