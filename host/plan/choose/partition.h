/* partition.h - one plan over several devices: which range of an axis each computes.
**
** The graph's own device comes first: it keeps leaves and outputs and computes all that has not the axis.
** Another device computes its range of the axis, one range after the other. Ranges are contiguous and
** ascending in the order of the devices. */
#ifndef GB_PLAN_CHOOSE_PARTITION_H
#define GB_PLAN_CHOOSE_PARTITION_H

#include <stdio.h>

#include "plan/place/remote.h"
#include "plan/plan.h"

struct gb_choice;

/* The devices that were asked for; member[0] is the graph's own. */
typedef struct gb_member {
  gb_device *device;
  double speed;
  size_t budget;   /* 0: what its ledger has */
  bool takes_part; /* false: the first one where it was not listed */
} gb_member;

typedef struct gb_team {
  int n;
  gb_member member[GB_DEVICES];
} gb_team;

/* The ranges that were chosen; part[i] is that of member[i]. */
typedef struct gb_partition_part {
  size_t lo, hi, chunk; /* its range and its windows; lo = hi: it gets nothing */
  int threads;          /* of its device: its scratch is for so many */
  gb_remote remote;     /* of others than the first; its placement is NULL where it gets nothing */
} gb_partition_part;

typedef struct gb_partition {
  int refs;
  uint64_t key;       /* what the choice depends on */
  gb_placement *home; /* on the first device; counted */
  int n;
  gb_partition_part part[GB_DEVICES];
} gb_partition;

/* '*out' NULL: the first device alone plans, as without a list. 'budget' of the first device goes to the
** request. Errors: EDEVICE (a device twice, none that computes), EOPTION, ENOMEM. */
gb_status gb_team_new (gb_plan *p, int n, const gb_plan_on *on, gb_error *err);

/* Fills c->place and c->partition. Ranges by water-filling: whole ranges in one window where the devices'
** budgets hold the axis; else windows, and every device that can run the smallest one has room for any
** number of them. Errors: EREFUSED naming the device; ENOMEM. */
gb_status gb_partition_choose (struct gb_choice *c, gb_error *err);
gb_status gb_partition_minimum (struct gb_choice *c, size_t *minimum,
                                gb_error *err); /* of the first device */
void gb_partition_unref (gb_partition *p);      /* NULL is fine */

#endif
