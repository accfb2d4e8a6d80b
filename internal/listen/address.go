package listen

import "net"

// AddressOf returns an IP address of a host, for the statuses of containers.
func AddressOf(host string) string {
	ips, err := net.LookupIP(host)
	if err != nil || len(ips) == 0 {
		return host
	}
	for _, ip := range ips {
		if v4 := ip.To4(); v4 != nil {
			return v4.String()
		}
	}
	return ips[0].String()
}
