package suspend

import (
	"encoding/json"
	"testing"

	"heddle/yarn/records"
)

// What comes of two wishes is never more than either of them leaves, whoever comes first, and what is read from disk is the same.
func TestWishesOfBoth(t *testing.T) {
	size := records.NewResource(512, 4)
	order := func(l Level, mb, vcores int64) Order {
		return Order{Level: l, Held: records.NewResource(mb, vcores), Version: 3}
	}
	for _, x := range []struct{ manager, own, want Order }{
		{order(Running, 512, 4), order(Frozen, 512, 0), order(Frozen, 512, 0)},
		{order(Shrunk, 256, 1), order(Frozen, 512, 0), order(Reclaimed, 256, 0)},
		{order(Shrunk, 512, 1), order(Frozen, 512, 0), order(Frozen, 512, 0)},
		{order(Frozen, 512, 0), order(Shrunk, 512, 4), order(Frozen, 512, 0)},
		{order(Frozen, 512, 0), order(Footprint, 64, 0), order(Reclaimed, 64, 0)},
		{order(Reclaimed, 64, 0), order(Frozen, 512, 4), order(Reclaimed, 64, 0)},
		{order(Shrunk, 256, 4), order(Footprint, 64, 0), order(Footprint, 64, 0)},
	} {
		first, second := Wishes{}.Ask(x.manager).AskOwn(&x.own, size, true), Wishes{}.Ask(order(Running, 512, 4)).AskOwn(&x.own, size, true).Ask(x.manager)
		for _, w := range []Wishes{first, second} {
			b, err := json.Marshal(w)
			if err == nil {
				w = Wishes{}
				err = json.Unmarshal(b, &w)
			}
			if got := w.Wanted(size, true); err != nil || got != x.want || w.Suspended != x.want.Level.Still() {
				t.Errorf("%v and %v come to %v (%v, %v)", x.manager, x.own, got, w.Suspended, err)
			}
			if got := w.ByManager(size, true); got != x.manager {
				t.Errorf("the ResourceManager wants %v, and wanted %v", got, x.manager)
			}
			if w = w.AskOwn(nil, size, true); w.Own != nil || w.Manager != nil || *w.Order != x.manager {
				t.Errorf("without %v it is %v", x.own, *w.Order)
			}
			if got := x.want.Check(size, true); got != nil {
				t.Error(got)
			}
		}
	}
}

// What was kept by earlier releases, or for a container of another size, or by a node that had swap, is understood.
func TestWishesThatDontFit(t *testing.T) {
	size := records.NewResource(512, 4)
	reclaimed := Order{Level: Reclaimed, Held: records.NewResource(64, 0)}
	for _, x := range []struct {
		w       Wishes
		reclaim bool
		want    Order
	}{
		{Wishes{}, true, Order{Held: size}},
		{Wishes{Suspended: true}, true, Order{Level: Frozen, Held: size}},
		{Wishes{Order: &reclaimed}, true, reclaimed},
		{Wishes{Order: &reclaimed}, false, Order{Level: Frozen, Held: size}},
		{Wishes{Order: &Order{Level: Shrunk, Held: size.Times(2), Version: 9}}, true, Order{Held: size, Version: 9}},
		{Wishes{Own: &reclaimed, Order: &reclaimed}, true, reclaimed}, // no Manager
	} {
		if got := x.w.Wanted(size, x.reclaim); got != x.want {
			t.Errorf("%+v: %v, want %v", x.w, got, x.want)
		}
		_ = x.w.AskOwn(nil, size, x.reclaim).Reset(size)
	}
	grown := Wishes{}.Ask(Order{Level: Shrunk, Held: records.NewResource(256, 4)}).AskOwn(&Order{Level: Frozen, Held: size}, size, true)
	more := records.NewResource(1024, 8)
	if w := grown.Resize(size, more); w.Order.Held != records.NewResource(256, 8) || w.Own.Held != more || grown.Own.Held != size {
		t.Errorf("%v, %v", *w.Order, *w.Own)
	}
}
