package lists

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// The map has every node once, by rack and id, with what the list says of it, whatever the filters.
func TestMapOfNodes(t *testing.T) {
	w := newWorld(t)
	for i := range 10_000 {
		id := records.NodeID{Host: fmt.Sprintf("n%05d", i), Port: 1}
		n := &ledger.Node{ID: id, Rack: fmt.Sprintf("/r%02d", i%40), State: pb.NodeState_NS_RUNNING, Capability: records.NewResource(1000, 10), Used: records.NewResource(int64(i%11)*100, 1), Suspended: i % 3}
		if i%1000 == 7 {
			n.State = pb.NodeState_NS_LOST
		}
		w.state.Nodes[id] = n
	}
	var got struct {
		NodeMap struct {
			Total int
			Rack  []struct {
				Name                  string
				ID, State             []string
				UsePercent, Suspended []int
			}
		}
	}
	a := w.get("ann", "/node-map")
	if err := json.Unmarshal(a.Body.Bytes(), &got); err != nil || a.Code != http.StatusOK {
		t.Fatal(a.Code, err)
	}
	if m := got.NodeMap; m.Total != 10_000 || len(m.Rack) != 40 || len(m.Rack[7].ID) != 250 || m.Rack[7].ID[0] != "n00007:1" || m.Rack[7].State[0] != "LOST" || m.Rack[7].UsePercent[0] != 70 || m.Rack[7].Suspended[0] != 1 {
		t.Errorf("%.2000s", a.Body)
	}
	if n := a.Body.Len(); n > 500_000 {
		t.Errorf("the map has %d bytes", n)
	}
	if again := w.get("ann", "/node-map", "If-None-Match", a.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Errorf("the same map is sent again: %d", again.Code)
	}
	if a := w.get("ann", "/node-map?state=LOST&rack=/r07"); !strings.Contains(a.Body.String(), `"total":10,`) {
		t.Errorf("%.2000s", a.Body)
	}
	if a := w.get("ann", "/node-map?by=use"); a.Code != http.StatusBadRequest {
		t.Errorf("%d", a.Code)
	}
}
