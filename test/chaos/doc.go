// Package chaos breaks the real program: it builds nodegate, runs it as a process in
// a folder of its own, and kills it, fills its disk, fails its system calls, and sends
// it what nobody should send. Each test stands for a row of the table of faults that
// the service is held to, and reports what it measured.
//
// Without a flag the loops are short, so that they fit beside the other tests. `make
// chaos` sets NODEGATE_CHAOS, which runs them at their full length, and prints the
// table. Start at program_test.go, which runs the program, then read any other file.
//
// What a test needs of the machine (Linux, strace, the right to mount) it looks for
// first; where that is missing it is skipped, and says what stands for it.
package chaos
