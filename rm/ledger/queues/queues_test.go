package queues

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue/template"
)

// created is a queue of user, which its path and letters behind it describe: p holds queues, l is a legacy leaf.
func created(text, user string) *ledgerpb.CreatedQueue {
	path, kind, _ := strings.Cut(text, " ")
	return &ledgerpb.CreatedQueue{Path: path, Parent: kind == "p", Legacy: kind == "l", User: user}
}

func TestQueuesAreCreatedAndDeleted(t *testing.T) {
	var c Created
	step := func(change *ledgerpb.QueuesChanged, wrong string, want ...string) {
		t.Helper()
		before := c.Clone()
		if err := c.Apply(change); wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong) || !reflect.DeepEqual(before, c)) {
			t.Errorf("%v: %v", change, err)
		}
		var got []string
		for _, q := range c.All() {
			got = append(got, q.Path)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("there are %q, want %q", got, want)
		}
	}
	step(&ledgerpb.QueuesChanged{Created: []*ledgerpb.CreatedQueue{created("root.z p", "ann"), created("root.z.y", "ann")}}, "", "root.z", "root.z.y")
	step(&ledgerpb.QueuesChanged{Created: []*ledgerpb.CreatedQueue{created("root.m.l l", "bob")}}, "", "root.z", "root.z.y", "root.m.l")
	step(&ledgerpb.QueuesChanged{Created: []*ledgerpb.CreatedQueue{created("root.z.y", "bob")}}, "created already", "root.z", "root.z.y", "root.m.l")
	step(&ledgerpb.QueuesChanged{Created: []*ledgerpb.CreatedQueue{created("", "bob")}}, "created already", "root.z", "root.z.y", "root.m.l")
	step(&ledgerpb.QueuesChanged{Deleted: []string{"root.nowhere"}}, "was not created on demand", "root.z", "root.z.y", "root.m.l")
	step(&ledgerpb.QueuesChanged{Deleted: []string{"root.z"}}, "as root.z.y is below it", "root.z", "root.z.y", "root.m.l")
	all := c.All()
	if !reflect.DeepEqual(all[0], template.Created{Path: "root.z", Parent: true}) || !reflect.DeepEqual(all[2], template.Created{Path: "root.m.l", Legacy: true}) {
		t.Errorf("%+v", all)
	}
	var restored Created
	if err := restored.Restore(c.Record()); err != nil || !reflect.DeepEqual(restored, c) {
		t.Errorf("restored: %+v, %v", restored, err)
	}
	frozen := c.Frozen()
	step(&ledgerpb.QueuesChanged{Deleted: []string{"root.z", "root.z.y"}, Created: []*ledgerpb.CreatedQueue{created("root.z", "eve")}}, "", "root.m.l", "root.z")
	if len(frozen.All()) != 3 {
		t.Errorf("what is frozen has changed: %v", frozen.All())
	}
	step(&ledgerpb.QueuesChanged{Deleted: []string{"root.m.l", "root.z"}}, "")
	if c.Record() != nil || !reflect.DeepEqual(c, Created{}) {
		t.Errorf("something is left: %+v", c)
	}
}

// Users can not fill the ledger with queues: there is a bound for each user, and one for all.
func TestCreatedQueuesAreBounded(t *testing.T) {
	var c Created
	add := func(user string, n int) (err error) {
		for range n {
			if err = c.Apply(&ledgerpb.QueuesChanged{Created: []*ledgerpb.CreatedQueue{created(fmt.Sprintf("root.q%d", c.Len()), user)}}); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range MaxCreated / MaxOfUser {
		user := fmt.Sprintf("user%d", i)
		if err := add(user, MaxOfUser); err != nil {
			t.Fatal(err)
		}
		if err := add(user, 1); !errors.Is(err, ErrBound) || i < MaxCreated/MaxOfUser-1 && !strings.Contains(err.Error(), user) {
			t.Errorf("one more of %s: %v", user, err)
		}
	}
	if err := add("another", 1); !errors.Is(err, ErrBound) || c.Len() != MaxCreated {
		t.Errorf("one more of another: %v", err)
	}
	if err := c.Apply(&ledgerpb.QueuesChanged{Deleted: []string{"root.q7"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(&ledgerpb.QueuesChanged{Created: []*ledgerpb.CreatedQueue{created("root.new", "another")}}); err != nil {
		t.Errorf("in the room of one that was deleted: %v", err)
	}
}
