// Package secure has tests of clusters with Kerberos, whose KDC they start: Heddle's daemons and commands, and Hadoop's on either side.
package secure
