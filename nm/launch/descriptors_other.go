//go:build !linux

package launch

func keepDescriptors() {}

func firstThread() bool { return false }
