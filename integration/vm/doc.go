// Package vm boots small virtual machines for tests. They run a Debian kernel under QEMU, with their own clock, disks
// and cgroups, and see this machine's files. So a test can cut the power, step the clock, and make disks fail.
//
//	m, err := vm.Boot(ctx, vm.Options{Disks: []vm.Disk{{Path: "disk", Size: 512 << 20}}, Forward: []vm.Port{{Host: 8032, Guest: 8032}}})
//	out, err := m.Run(ctx, "mkfs.ext4 -q /dev/vda && mount /dev/vda /disk && heddle version")
//	m.PowerCut()
//
// The root folder inside is this machine's, below a layer in memory. All programs of this machine run there, and what
// they write vanishes with the virtual machine; write to a disk what must stay. /tmp, /run and /dev/shm are empty.
// cgroups are pure version 2. The network is the virtual machine's own loopback; ports can be forwarded to it.
//
// It needs root, Linux on amd64, and QEMU (Debian: qemu-system-x86, e2fsprogs, dmsetup). The kernel comes from Debian's
// packages, and is cached in hadooplab's cache. The processor is emulated at a tenth of its speed, unless
// HEDDLE_TEST_KVM=1 asks for KVM.
package vm
