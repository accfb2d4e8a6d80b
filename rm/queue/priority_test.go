package queue

import "testing"

func TestPriorityOfAnApplication(t *testing.T) {
	tree, err := ParseCapacity(map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.b.default-application-priority": "3",
		"root.a.acl_application_max_priority": "[user=ann,bob max_priority=5 default_priority=2] [user=bob max_priority=9 default_priority=4]",
	})
	if err != nil {
		t.Fatal(err)
	}
	asked := func(p int32) *int32 { return &p }
	for _, c := range []struct {
		queue, user string
		asked       *int32
		most        int32
		lists       bool
		want        int32
		may         bool
	}{
		{"root.a", "ann", asked(5), 10, true, 5, true},
		{"root.a", "ann", asked(6), 10, true, 6, false},
		{"root.a", "ann", asked(6), 10, false, 6, true}, // no lists apply
		{"root.a", "ann", asked(6), 5, true, 5, true},   // the cluster's maximum comes first
		{"root.a", "ann", nil, 10, true, 2, true},
		{"root.a", "bob", nil, 10, true, 4, true}, // of the list with the highest maximum
		{"root.a", "bob", asked(9), 10, true, 9, true},
		{"root.a", "eve", asked(0), 10, true, 0, false}, // is on no list
		{"root.b", "eve", nil, 10, true, 3, true},
		{"root.b", "eve", asked(8), 10, true, 8, true}, // has no lists
		{"root.b", "eve", nil, 1, true, 1, true},
	} {
		q, _ := tree.Find(c.queue)
		got, may := q.PriorityOf(c.user, c.asked, c.most, c.lists, nil)
		if got != c.want || may != c.may {
			t.Errorf("%+v: got %d, %v", c, got, may)
		}
	}
}
