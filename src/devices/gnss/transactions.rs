//! CFG-VALSET and CFG-VALDEL, with and without transactions.
//!
//! A transaction has the steps start (1), continue (2) and apply (3). Another start, an unknown key, a step out of
//! order, another set of layers, or any other CFG message discards the transaction without effect. Values are checked
//! when the transaction is applied.
//!
//! Source: u-blox ZED-F9P interface description, UBX-CFG-VALSET and UBX-CFG-VALDEL.

use std::collections::BTreeMap;

use super::Gnss;
use super::Verdict;
use crate::wire::record::Record;
use crate::wire::ubx::cfg::{CfgValdel, CfgValset, Item, Key};

/// Changes since a transaction started, at most one for each item of the receiver.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    layers: u8,
    /// New values; `None` removes the item.
    items: BTreeMap<Key, Option<u64>>,
    forgets: bool,
}

/// Transaction step of a message; 0 without a transaction. `Err` if the version of the message is neither 0 nor 1.
fn step(version: u8, transaction: u8) -> Result<u8, ()> {
    match version {
        0 => Ok(0),
        1 => Ok(transaction & 3),
        _ => Err(()),
    }
}

impl Gnss {
    pub(super) fn set_values(&mut self, payload: &[u8]) -> Verdict {
        let open = self.transaction.take();
        let set = CfgValset::parse(payload).map_err(drop)?;
        let step = step(set.version, set.transaction)?;
        self.store.knows(set.layers, &set.items).map_err(drop)?;
        if step == 0 {
            self.store.apply(set.layers, &set.items).map_err(drop)?;
            self.name_unmade(&set.items);
            return Ok(());
        }
        let items = set.items.iter().map(|item| (item.key, Some(item.value)));
        let Some(done) = self.go_on(open, step, set.layers, items, false)? else { return Ok(()) };
        let item = |(key, value): (Key, Option<u64>)| Some(Item { key, value: value? });
        let items: Vec<Item> = done.items.into_iter().filter_map(item).collect();
        self.store.apply(done.layers, &items).map_err(drop)?;
        self.name_unmade(&items);
        Ok(())
    }

    pub(super) fn forget_values(&mut self, payload: &[u8]) -> Verdict {
        let open = self.transaction.take();
        let del = CfgValdel::parse(payload).map_err(drop)?;
        let step = step(del.version, del.transaction)?;
        let keys = self.store.named(del.layers, &del.keys).map_err(drop)?;
        if step == 0 {
            self.store.forget(del.layers, &keys);
            return Ok(());
        }
        let items = keys.into_iter().map(|key| (key, None));
        if let Some(done) = self.go_on(open, step, del.layers, items, true)? {
            self.store.forget(done.layers, done.items.keys());
        }
        Ok(())
    }

    /// Processes the step `step` (1 to 3) of a transaction. Returns the changes to apply after step 3, and `None` after
    /// the steps 1 and 2. `Err` if step 2 or 3 does not continue `open`.
    fn go_on(
        &mut self,
        open: Option<Transaction>,
        step: u8,
        layers: u8,
        items: impl Iterator<Item = (Key, Option<u64>)>,
        forgets: bool,
    ) -> Result<Option<Transaction>, ()> {
        let mut open = match (step, open) {
            (1, _) => Transaction { layers, items: BTreeMap::new(), forgets },
            (_, Some(open)) if open.layers == layers && open.forgets == forgets => open,
            _ => return Err(()),
        };
        open.items.extend(items);
        if step == 3 {
            return Ok(Some(open));
        }
        self.transaction = Some(open);
        Ok(None)
    }
}
