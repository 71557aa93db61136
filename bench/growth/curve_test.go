package main

import "testing"

func TestTable(t *testing.T) {
	c := &curve{part: part{noun: "keys"}}
	c.add(1000, []figure{{"start", inSeconds, 0.4121}, {"memory", inBytes, 98.7e6}})
	c.add(100_000, []figure{{"start", inSeconds, 1.25}, {"memory", inBytes, 1.5e9}})
	const want = "| | 1,000 keys | 100,000 keys |\n|---|---|---|\n| start | 412 ms | 1.25 s |\n| memory | 98.7 MB | 1.50 GB |\n"
	if got := c.table(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestUnits(t *testing.T) {
	for _, test := range []struct {
		unit  unit
		value float64
		want  string
	}{
		{inSeconds, 0, "0.00 µs"}, {inSeconds, 17.23e-6, "17.2 µs"}, {inSeconds, 0.000_999_4, "999 µs"}, {inSeconds, 0.000_999_9, "1.00 ms"},
		{inSeconds, 0.9996, "1.00 s"}, {inSeconds, 1234, "1,234 s"}, {inSeconds, -2e-6, "-2.00 µs"},
		{inBytes, 12, "12.0 bytes"}, {inBytes, 25_400, "25.4 KB"}, {inBytes, 2e12, "2,000 GB"},
	} {
		if got := test.unit.text(test.value); got != test.want {
			t.Errorf("%v is %q, want %q", test.value, got, test.want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{1: "1", 999: "999", 1000: "1,000", 1_234_567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %q", n, got)
		}
	}
}
