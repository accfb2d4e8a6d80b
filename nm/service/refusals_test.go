package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func TestRefusalsAreBounded(t *testing.T) {
	s, who := bare(t, someDisks(t))
	changes := 0
	s.Changed = func() { changes++ }
	app := func(i int) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: int32(i)} }
	reasons := func(of records.ApplicationID) (out []string) {
		for _, r := range s.Refusals() {
			if records.ApplicationIDFrom(r.GetApplicationId()) == of {
				out = append(out, r.GetReason())
			}
		}
		return out
	}
	for i := range 3 { // all of one kind
		s.refused(app(1), nil, refusal("no\n %d %s", i, strings.Repeat("€", 2000)))
	}
	if r := reasons(app(1)); changes != 1 || len(r) != 1 || len(r[0]) > maxReason || !utf8.ValidString(r[0]) || !strings.HasPrefix(r[0], "no 2 €") {
		t.Errorf("%d changes, %.60q", changes, r)
	}
	for i := range 2 * maxRefusalsOfApp {
		s.refused(app(1), nil, ipc.NewException(fmt.Sprint("class", i), "%d", i))
	}
	if r := reasons(app(1)); len(r) != maxRefusalsOfApp || r[len(r)-1] != fmt.Sprint(2*maxRefusalsOfApp-1) {
		t.Errorf("one application's: %q", r)
	}
	for i := range 3 * maxRefusals {
		s.refused(app(i+2), nil, errors.New("no"))
	}
	if all := s.Refusals(); len(all) != maxRefusals || len(reasons(app(3*maxRefusals+1))) != 1 {
		t.Errorf("%d refusals", len(all))
	}

	master := &pb.ContainerTokenIdentifier{}
	master.SetContainerType(pb.ContainerType_APPLICATION_MASTER)
	own := app(-1)
	s.refused(own, master, errors.New("no"))
	s.refused(own, nil, relaunch(records.ContainerID{Attempt: who.Attempt, ID: 1}))
	if r := reasons(own); len(r) != 0 {
		t.Errorf("what the ResourceManager knows, or did start: %q", r)
	}
}
