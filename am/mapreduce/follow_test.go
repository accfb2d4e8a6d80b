package mapreduce

import (
	"testing"
	"testing/synctest"
	"time"

	"heddle/am/client"
	"heddle/internal/pause"
)

// While no ResourceManager answered nothing was said.
func TestLateAnswerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := 0
		r, err := patiently(func() (client.Report, error) { return client.Report{Name: "n"}, pause.For(t.Context(), 30*time.Second) }, awayAfter, func() { said++ })
		if err != nil || r.Name != "n" || said != 1 {
			t.Errorf("%+v, %v, said %d times", r, err, said)
		}
		if _, err := patiently(func() (client.Report, error) { return r, nil }, awayAfter, func() { t.Error("an answer that isn't late") }); err != nil {
			t.Error(err)
		}
	})
}
