package campaign

import (
	"context"
	"fmt"
)

// machineKind is a kind of fault in a virtual machine.
type machineKind struct {
	name         string
	parts        int
	spares       bool // no container may be lost
	spoils       bool // the disk takes no writes
	strike, mend func(context.Context, *machine) error
}

func (k machineKind) weight() (string, int) { return k.name, k.parts }

var machineKinds = []machineKind{
	{"power cut", 6, false, false, powerOff, powerOn},
	{"power cut while the disk is slow", 2, false, false, both(table("delay /dev/vda 0 300"), brief, powerOff), powerOn},
	{"clock an hour ahead", 3, true, false, script("date -s '+1 hour'"), script("date -s '-1 hour'")},
	{"clock an hour behind", 3, true, false, script("date -s '-1 hour'"), script("date -s '+1 hour'")},
	{"disk fails", 3, false, true, table("error"), both(powerOff, powerOn)},
	{"disk slow", 3, true, false, table("delay /dev/vda 0 300"), table("linear /dev/vda 0")},
	{"disk full", 3, false, true, script(fillDisk), script(emptyDisk)},
	{"ResourceManager killed in the machine", 2, false, false, script("kill -9 $(cat /run/rm1.pid)"), script("true")},
	{"NodeManager killed in the machine", 2, false, false, script("kill -9 $(cat /run/nm1.pid)"), script("true")},
	{"ResourceManager frozen in the machine", 2, true, false, script("kill -STOP $(cat /run/rm1.pid)"), script("kill -CONT $(cat /run/rm1.pid)")},
}

// fillDisk takes all free blocks at once, and then the remaining ones.
const fillDisk = `fallocate -l $(($(stat -f -c '%a*%S' /disk))) /disk/filler; dd if=/dev/zero of=/disk/filler2 bs=4k 2>/dev/null; true`

// emptyDisk gives the blocks back. ext4 hands them out again only after it has committed the removal.
const emptyDisk = "rm -f /disk/filler*; sync"

func powerOff(_ context.Context, m *machine) error {
	m.cut()
	return nil
}

func powerOn(ctx context.Context, m *machine) error { return m.boot(ctx) }

// script runs a script inside.
func script(text string) func(context.Context, *machine) error {
	return func(ctx context.Context, m *machine) error {
		out, err := m.run(ctx, "%s", text)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	}
}

// table replaces the table of the device mapper below the disk.
func table(target string) func(context.Context, *machine) error {
	return script(`n=$(blockdev --getsz /dev/vda)
dmsetup suspend --noudevsync --nolockfs --noflush faulty && echo "0 $n ` + target + `" | dmsetup load faulty && dmsetup resume --noudevsync faulty`)
}

// brief gives a fault time to take effect.
func brief(ctx context.Context, m *machine) error { return script("sleep 2")(ctx, m) }

// both does several steps one after the other.
func both(steps ...func(context.Context, *machine) error) func(context.Context, *machine) error {
	return func(ctx context.Context, m *machine) error {
		for _, step := range steps {
			if err := step(ctx, m); err != nil {
				return err
			}
		}
		return nil
	}
}
